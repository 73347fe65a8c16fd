"""How a refusal of SNS is told."""

from torpor_account.topics import told

XML = b"""<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/">
  <Error><Type>Sender</Type><Code>NotFound</Code><Message>Topic does not exist</Message></Error>
  <RequestId>1</RequestId>
</ErrorResponse>"""


def test_an_error_is_told_by_its_message_and_its_code() -> None:
    assert told(XML) == "Topic does not exist (NotFound)"
    assert told(XML.replace(b' xmlns="http://sns.amazonaws.com/doc/2010-03-31/"', b"")) == (
        "Topic does not exist (NotFound)"
    )


def test_an_answer_of_another_form_is_told_in_one_line() -> None:
    assert told(b"Bad\n  Gateway") == "Bad Gateway"
    assert told(b"<html>\n<p/></html>") == "<html> <p/></html>"
