"""Names that try to end a header, or that no header can contain; they are sent byte for byte over a socket."""

from tests.unit.serve.real_server import answer_on, connect

# Bytes of a file's name in a form, and the name of its translation, as browsers read it from the header. None: refused.
NAMES: dict[bytes, str | None] = {
    b"a\r\nX: y.docx": None,  # what follows the line break is another header of the part, and `a` has no extension
    b"a\rX-Evil: y.txt": None,
    b"a\nX-Evil: y.txt": "a\\nX-Evil: y.es.txt",
    "ü.txt".encode(): "ü.es.txt",
    "文.txt".encode(): "文.es.txt",
    b"\x00.txt": "\\x00.es.txt",
    b"a\x00.txt": "a\\x00.es.txt",
    b"\xff\xfe.txt": "ÿþ.es.txt",
    b"\xe2\x80\xae.txt": "\\u202e.es.txt",  # the text after it would be read from right to left
    b"a%0d%0aX-Evil%3a y.txt": "a%0d%0aX-Evil%3a y.es.txt",
    b"a'; filename*=UTF-8''evil.txt": "a'; filename*=UTF-8''evil.es.txt",
    b"\xf0\x9f\x98\x80.txt": "😀.es.txt",
}
# Charsets that a client can claim. Python decodes them to characters that no answer can contain, or fails.
CHARSETS = {
    "utf-7": b"+2AA-",
    "unicode_escape": b"\\ud800",
    "punycode": b"\xff",
    "undefined": b"a",
    "idna": b"xn--\xff",
}


def part(name: bytes, value: bytes, file: bytes | None = None) -> bytes:
    """Return a part of a form; `file` is the name of a file."""
    suffix = b"" if file is None else b'; filename="' + file + b'"'
    return b'--x\r\nContent-Disposition: form-data; name="' + name + b'"' + suffix + b"\r\n\r\n" + value + b"\r\n"


def post_form(url: str, path: str, parts: bytes, charset: str = "") -> tuple[int, bytes]:
    """Send a form; return the status and the body of the answer, or the status 0 if there is none."""
    content = parts + b"--x--\r\n"
    suffix = f"; charset={charset}" if charset else ""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {len(content)}\r\n"
    kind = f"Content-Type: multipart/form-data; boundary=x{suffix}\r\n\r\n"
    return read_answer(url, f"{head}{kind}".encode() + content)


def read_answer(url: str, request: bytes) -> tuple[int, bytes]:
    """Return the status and the body of the answer to a request; the status 0 if there is none."""
    heading, _, body = answer_on(connect(url, request)).partition(b"\r\n\r\n")
    return int(heading.split()[1]) if heading else 0, body
