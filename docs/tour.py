# %% [markdown]
# # A tour of clearhead
#
# This notebook solves an attention exercise, changes a number in it, marks a student's working, and looks at the
# attention of a trained translator. It runs from top to bottom in about half a minute.
#
# From a clone of the repository, `pip install ".[train,plots]" notebook` installs what it needs.

# %% [markdown]
# ## Solve an exercise
#
# A problem is a dictionary (or a YAML file) with the given matrices. `solve` returns a worksheet with every line of
# the working; a notebook shows it as tables.

# %%
from clearhead import solve

problem = {
    "kind": "self-attention",
    "title": "Self-attention of three tokens",
    "tokens": ["he", "is", "old"],
    "X": [[1, 0, 2], [0, 1, 1], [2, 1, 0]],
    "W_Q": [[0.5, 0.1], [0.2, 0.4], [-0.3, 0.6]],
    "W_K": [[0.3, 0.7], [-0.1, 0.2], [0.4, 0.5]],
    "W_V": [[1, 0], [0, 1], [1, 1]],
}
sheet = solve(problem)
sheet

# %% [markdown]
# Each matrix of the working is a NumPy array. `A` holds the attention weights: one row for each query, and each row
# sums to 1.

# %%
print(sheet.value("A").round(4))

# %% [markdown]
# The worksheet can also show the sum behind every number. Here are the sums behind the scores of the first token:

# %%
lines = sheet.to_markdown("products").replace("\\", "").splitlines()
print("\n".join(line for line in lines if line.startswith("- S[he, ")))

# %% [markdown]
# ## Change a number
#
# Make the last token three times as long: its keys and values grow with it. Which token takes the attention?

# %%
changed = solve(problem | {"X": [[1, 0, 2], [0, 1, 1], [6, 3, 0]]})
for token, before, after in zip(problem["tokens"], sheet.value("A"), changed.value("A"), strict=True):
    print(f"{token:>4}  {before.round(2)}  →  {after.round(2)}")

# %% [markdown]
# ## Mark a working
#
# A working is the problem together with the lines that a student wrote. Numbers are compared with what the student's
# own earlier lines give, so one slip costs marks only once. In the working below, one product is missing from one
# score.

# %%
from clearhead.check import check

(report,) = check(
    {
        "student": "Noor",
        "kind": "self-attention",
        "scale": "sqrt(d_k)",
        "tokens": ["rain", "on", "roof"],
        "X": [[1, 0.5], [0, 2], [1.5, 1]],
        "W_Q": [[0.4, 1], [0.6, 0.2]],
        "W_K": [[1, 0.3], [0.5, 0.8]],
        "W_V": [[2, 0], [1, 1]],
        "written": {
            "Q": [[0.7, 1.1], [1.2, 0.4], [1.2, 1.7]],
            "K": [[1.25, 0.7], [1, 1.6], [2, 1.25]],
            "V": [[2.5, 0.5], [2, 2], [4, 1]],
            "scores": [["1.645", "2.46", "2.775"], ["1.78", "1.84", "2.40"], ["2.69", "3.92", "4.525"]],
            "scaled scores": [["1.16", "1.74", "1.96"], ["1.26", "1.30", "1.70"], ["1.90", "2.77", "3.20"]],
            "weights": [["0.20", "0.36", "0.44"], ["0.28", "0.29", "0.43"], ["0.14", "0.34", "0.52"]],
        },
    }
)
print(f"{report.earned:.2f} of {report.out_of:g} marks")
for finding in report.findings:
    print(f"{finding.verdict}: {finding.student_sum} should be {finding.right_sum}")

# %% [markdown]
# A notebook shows the report with every cell marked:

# %%
report

# %% [markdown]
# ## A trained model
#
# `make demo` trains a small English–Spanish translator in `runs/phrasebook`. If that folder is not there, the next cell
# trains it for a shorter time, which takes about half a minute on two cores and gives a model that makes more mistakes.

# %%
from pathlib import Path

from clearhead import Translator
from clearhead.training.config import load_run_config
from clearhead.training.launch import launch

CONFIG = """
preset: tiny
model: {encoder_blocks: 2, decoder_blocks: 2, dropout: 0.05}
data:
  train:
    - built_in: phrasebook
    - {built_in: set-phrases, weight: 20}
text: {vocabulary: 2500, byte_fallback: false}
training: {steps: 250, batch_tokens: 1024, rate: 3.0e-3, warm_up: 50, schedule: cosine, label_smoothing: 0.0}
"""

run = next((path for path in (Path("runs/phrasebook"), Path("../runs/phrasebook")) if path.exists()), Path("runs/tour"))
if not run.exists():
    Path("tour.yaml").write_text(CONFIG)
    launch(load_run_config("tour.yaml"), run)
translator = Translator.load(run, engine="torch", precision="float32")
for translation in translator.translate(["Let's go", "Where is the old hotel?", "I like the red book."]):
    print(translation.text)

# %% [markdown]
# ## Look at its attention
#
# `trace_in_float64` runs the model step by step and records every number. Records have a place, such as
# `decoder.1.cross_attention.head.0`: cross-attention of decoder layer 2, head 1 (places count from 0).

# %%
import torch

from clearhead.explain.trace_file import sheet_of_trace
from clearhead.model import Batch
from clearhead.model.float64 import trace_in_float64

sentence = "Where is the old hotel?"
model, vocabularies = translator.model, translator.vocabularies
text = translator.translate([sentence])[0].text
source = [*vocabularies.source.encode([sentence])[0], model.config.eos]
target = [*vocabularies.target.encode([text])[0], model.config.eos]
_, trace = trace_in_float64(model, Batch(torch.tensor([source]), torch.tensor([target])))

layer = model.config.decoder_blocks - 1
weights = {
    int(record.where.rpartition(".")[2]): record.value[0].numpy()
    for record in trace
    if record.step.name == "softmax" and record.where.startswith(f"decoder.{layer}.cross_attention.head.")
}
source_pieces = [piece.strip("▁") for piece in vocabularies.source.pieces(source)]
target_pieces = [piece.strip("▁") for piece in vocabularies.target.pieces(target)]
print(f"{sentence} → {text}")
print(f"{len(weights)} heads, each with {len(target_pieces)} queries and {len(source_pieces)} keys")

# %% [markdown]
# A row of a picture is one word of the translation, and the dark cells are the source words that it was written from.
# In a head that aligns words, *hotel viejo* and *old hotel* cross: Spanish puts the adjective after the noun.

# %%
import matplotlib.pyplot as plt
import numpy as np

figure, axes = plt.subplots(1, len(weights), figsize=(12, 3.4), sharey=True, layout="constrained")
for axis, (head, matrix) in zip(axes, sorted(weights.items()), strict=True):
    axis.imshow(matrix, cmap="Purples", vmin=0, vmax=1)
    axis.set_title(f"head {head + 1}")
    axis.set_xticks(range(len(source_pieces)), source_pieces, rotation=90)
axes[0].set_yticks(range(len(target_pieces)), target_pieces)
plt.show()

# %% [markdown]
# One head with its numbers; try the others too. Weights below 0.01 are left empty.

# %%
head = 3 - 1  # head 3
figure, axis = plt.subplots(figsize=(5, 4.5), layout="constrained")
axis.imshow(weights[head], cmap="Purples", vmin=0, vmax=1)
for (row, column), weight in np.ndenumerate(weights[head]):
    if weight >= 0.01:
        axis.text(column, row, f"{weight:.2f}", ha="center", va="center", color="white" if weight > 0.5 else "black")
axis.set_xticks(range(len(source_pieces)), source_pieces, rotation=45)
axis.set_yticks(range(len(target_pieces)), target_pieces)
axis.set_title(f"decoder layer {layer + 1}, cross-attention, head {head + 1}")
plt.show()

# %% [markdown]
# ## Mark the model
#
# The trace of a model is a working like any other. Take this head out of it and mark it: the model gets full marks,
# which shows that the picture is made from the numbers that the model really computed with.

# %%
from clearhead.check import mark_worksheet
from clearhead.worksheet.part import part_of_sheet

all_steps = sheet_of_trace(trace, tokens=source_pieces, target_tokens=["<s>", *target_pieces[:-1]])
marks = mark_worksheet(part_of_sheet(all_steps, f"decoder.{layer}.cross_attention.head.{head}"))
print(f"{marks.earned:g} of {marks.out_of:g} marks, {len(marks.findings)} errors")

# %% [markdown]
# ## Where to go next
#
# - [Solve an exercise](guide/solve.md) and [check a working](guide/check.md): the same from the command line.
# - [From Python](guide/python.md): the functions used here.
# - [Train a translator](guide/train.md): your own data.
