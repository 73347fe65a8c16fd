"""Documents as large as S3's own are read, and documents made to be expensive are refused."""

import time

import pytest

from torpor_account.s3.errors import Refusal, S3Error
from torpor_account.s3.wire.forms import FIELDS_MAX_BYTES, FormDecoder
from torpor_account.s3.wire.parsing import MARKS_MAX, parsed

PART = b"""
  <Part>
    <PartNumber>1</PartNumber>
    <ETag>"d41d8cd98f00b204e9800998ecf8427e"</ETag>
    <ChecksumCRC32>AAAAAA==</ChecksumCRC32>
    <ChecksumSHA256>47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=</ChecksumSHA256>
  </Part>"""
KEYS = b"<Object><Key>" + b"year=2026/" * 100 + b"</Key></Object>"


def test_an_upload_of_ten_thousand_parts_with_checksums_is_read() -> None:
    tree = parsed(
        b"<CompleteMultipartUpload>" + PART * 10_000 + b"</CompleteMultipartUpload>", "CompleteMultipartUpload"
    )
    assert len(tree.findall("Part")) == 10_000


def test_a_thousand_long_keys_with_many_signs_are_read() -> None:
    assert len(parsed(b"<Delete>" + KEYS * 1_000 + b"</Delete>", "Delete")) == 1_000


MADE_TO_COST = {
    "tags": b"<a/>" * MARKS_MAX,
    "lines": b"\n" * (MARKS_MAX + 1),
    "attributes of one tag": b"<a " + b" ".join(b"a%d=''" % at for at in range(20_000)) + b"/>",
    "attributes whose values look like tags' ends": b"<a " + b" ".join(b"a%d='>'" % at for at in range(20_000)) + b"/>",
}


@pytest.mark.parametrize("inside", MADE_TO_COST.values(), ids=MADE_TO_COST)
def test_a_document_made_to_be_expensive_is_refused(inside: bytes) -> None:
    with pytest.raises(S3Error) as refused:
        parsed(b"<Delete>" + inside + b"</Delete>", "Delete")
    assert refused.value.refusal is Refusal.MalformedXML


@pytest.mark.parametrize("size_bytes", [FIELDS_MAX_BYTES - 100, 1 << 20])
def test_a_long_word_in_a_forms_head_takes_no_time(size_bytes: int) -> None:
    form = FormDecoder("multipart/form-data; boundary=x")
    began_s = time.thread_time()
    with pytest.raises(S3Error):
        form.feed(b"--x\r\ncontent-disposition: form-data;" + b"a" * size_bytes + b"\r\n\r\nv\r\n--x--\r\n")
    assert time.thread_time() - began_s < 0.1
