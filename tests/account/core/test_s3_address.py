"""Every form in which AWS takes an S3 address means one bucket and one key."""

import pytest

from torpor_account.core.s3_address import NoS3Address, is_s3_url, s3_url


@pytest.mark.parametrize(
    "url",
    [
        "s3://bucket/prefix/",
        "https://s3.amazonaws.com/bucket/prefix/",
        "https://s3-us-west-2.amazonaws.com/bucket/prefix/",
        "https://s3.us-west-2.amazonaws.com/bucket/prefix/",
        "https://s3.dualstack.us-west-2.amazonaws.com/bucket/prefix/",
        "https://s3-fips.us-gov-west-1.amazonaws.com/bucket/prefix/",
        "https://S3.US-WEST-2.amazonaws.com/bucket/prefix/",
        "https://bucket.s3.amazonaws.com/prefix/",
        "https://bucket.s3.us-west-2.amazonaws.com/prefix/",
        "https://bucket.s3-us-west-2.amazonaws.com/prefix/",
        "https://bucket.s3.dualstack.us-west-2.amazonaws.com/prefix/",
        "https://bucket.s3-accelerate.amazonaws.com/prefix/",
        "https://s3.cn-north-1.amazonaws.com.cn/bucket/prefix/",
        "https://bucket.s3.cn-northwest-1.amazonaws.com.cn/prefix/",
        "https://bucket.s3.us-west-2.amazonaws.com:443/prefix/",
    ],
)
def test_every_form_of_a_url_means_the_same_prefix(url: str) -> None:
    assert s3_url(url) == "s3://bucket/prefix/"
    assert is_s3_url(url)


@pytest.mark.parametrize(
    ("url", "means"),
    [
        ("s3://bucket", "s3://bucket/"),
        ("s3://bucket//out//m.tar.gz", "s3://bucket//out//m.tar.gz"),
        ("s3://bucket/a b+c%20d?e#f", "s3://bucket/a b+c%20d?e#f"),
        ("https://s3.amazonaws.com/bucket//a//b", "s3://bucket//a//b"),
        ("https://bucket.s3.amazonaws.com/a%20b+c%2Fd", "s3://bucket/a b+c/d"),
        ("https://my.dotted.bucket.s3.eu-west-1.amazonaws.com/k", "s3://my.dotted.bucket/k"),
        ("https://s3.models.s3.eu-west-1.amazonaws.com/k", "s3://s3.models/k"),
        ("https://s3.eu-west-1.amazonaws.com/bucket", "s3://bucket/"),
    ],
)
def test_a_key_is_taken_literally(url: str, means: str) -> None:
    assert s3_url(url) == means


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("https://example.com/bucket/k", "must begin with"),
        ("https://bucket.s3.evil.example/k", "must begin with"),
        ("https://s3.amazonaws.com.evil.example/b/k", "must begin with"),
        ("https://user@evil.example/s3.amazonaws.com/b", "must begin with"),
        ("https://bucket.s3-website-us-west-2.amazonaws.com/k", "must begin with"),
        ("https://s3.amazonaws.com/", "names no bucket"),
        ("s3:///k", "names no bucket"),
        ("https://[s3/k", "is no URL"),
        ("https://s3.amazonaws.com/b/k?versionId=1", "a query or a fragment"),
        ("https://s3.amazonaws.com/b/a/%2e%2e/k", "'.' or '..' segment"),
        ("s3://b/../k", "'.' or '..' segment"),
        ("s3://b/./k", "'.' or '..' segment"),
        ("https:///b/k", "must begin with"),
        ("https://s3.amazonaws.com/b/%00", "cannot be printed"),
    ],
)
def test_the_refusal_of_a_url_outside_s3_gives_the_reason(url: str, says: str) -> None:
    with pytest.raises(NoS3Address, match=says):
        s3_url(url)
    assert not is_s3_url(url)
