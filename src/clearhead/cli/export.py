"""`clearhead export`: write a model in the format of another program, with a certificate of what that changes."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from clearhead.cli.option_groups import with_option_groups
from clearhead.cli.output import print_json
from clearhead.errors import printable

if TYPE_CHECKING:
    from clearhead.export.certificate import Certificate


@dataclass(frozen=True)
class CertificateOptions:
    """The sentences on which model and export are compared, and whether limits are enforced."""

    source: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Sentences, one per line, that model and export both translate. \\[default for a built-in model: "
            "sentences of the phrasebook]",
        ),
    ] = None
    reference: Annotated[
        str | None, typer.Option(metavar="FILE", help="Translations of the sentences, one per line, for BLEU.")
    ] = None
    phrasebook: Annotated[
        bool, typer.Option("--phrasebook", help="Compare on the phrasebook, for a model from English into Spanish.")
    ] = False
    lines: Annotated[int | None, typer.Option(min=1, help="Use only this many sentences.")] = None
    allow_drift: Annotated[
        bool,
        typer.Option(
            "--allow-drift", help="Also write an export whose results are beyond the limits of its precision."
        ),
    ] = False


@with_option_groups
def export(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="A run folder, one of its checkpoints, an OPUS-MT folder, or a name from `clearhead models`.",
        ),
    ],
    to: Annotated[str, typer.Option(metavar="FORMAT", help="The format: ctranslate2, onnx, marian or hub-folder.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="New folder for the export. \\[default: MODEL-FORMAT]")
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(help="Number type of the weights: float32, float16 (not onnx) or int8 (not marian)."),
    ] = None,
    licence: Annotated[
        str | None,
        typer.Option(help="Licence of the weights: a name such as CC-BY-4.0, or a file. A hub-folder needs it."),
    ] = None,
    *,
    certificate: CertificateOptions,
    as_json: Annotated[bool, typer.Option("--json", help="Print the certificate as JSON.")] = False,
) -> None:
    """Write a model in the format of another program, with a certificate: how far its results are from the model's."""
    folder = output if output is not None else Path(f"{Path(model).name or 'model'}-{to}")
    try:
        from clearhead.export.exporting import DriftError, ExportRequest, export_model
        from clearhead.export.sentences import TextChoice

        text = TextChoice(certificate.source, certificate.reference, certificate.lines, certificate.phrasebook)
        request = ExportRequest(model, to, folder, precision, text, licence, certificate.allow_drift)
        try:
            with _status():
                result = export_model(request)
        except DriftError as drift:
            _show(drift.certificate, as_json=as_json)
            typer.echo(
                f"clearhead: the export is too far from its model, so {printable(str(folder))} was not written. "
                "Choose a wider --precision, or --allow-drift.",
                err=True,
            )
            raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo(f"clearhead: interrupted. {printable(str(folder))} was not written.", err=True)
        raise
    _show(result, as_json=as_json)
    typer.echo(f"clearhead: wrote {printable(str(folder))}, with its certificate in certificate.md.", err=True)


def _status() -> AbstractContextManager[object]:
    """Show on a terminal that work is going on; elsewhere show nothing."""
    from rich.console import Console

    return Console(stderr=True).status("Exporting, and comparing the translations …")


def _show(certificate: "Certificate", *, as_json: bool) -> None:
    if as_json:
        print_json(certificate.to_dict())
        return
    from clearhead.export.certificate import certificate_rows

    for name, value in certificate_rows(certificate):
        typer.echo(f"{name}: {value}")
