"""What failed of a slice, in sentences: one for each reason, however many it was."""

from loading.slices.commit import failures

SAID = "GET /api/v1/students/{}/transcripts for school 101: status 500, the platform says: no {} here."


def reasons(ids: range) -> dict[int | str, str]:
    return {id_: SAID.format(id_, id_) for id_ in ids}


def test_one_that_fails_is_told_as_it_is() -> None:
    assert failures("student", reasons(range(7, 8))) == (f"student 7: {SAID.format(7, 7)}",)


def test_many_that_fail_alike_are_one_sentence_with_their_count() -> None:
    [message] = failures("student", reasons(range(1000, 1417)))
    assert message.startswith("student 1000, 1001, ")
    assert "1019 and 397 more (417 in all): GET /api/v1/students/{id}/transcripts for school 101: " in message
    assert message.endswith("status 500, the platform says: no {id} here.")


def test_those_that_were_given_up_because_of_another_fail_as_it_did() -> None:
    direct_reasons = reasons(range(1000, 1020))
    messages = failures("student", direct_reasons | dict.fromkeys(range(1020, 1100), direct_reasons[1019]))
    assert len(messages) == 1


def test_other_reasons_are_other_sentences() -> None:
    other = "GET /api/v1/students/9/transcripts for school 101: status 403."
    messages = failures("student", {**reasons(range(7, 9)), 9: other})
    assert messages == (f"student 7, 8: {SAID.format('{id}', '{id}')}", f"student 9: {other}")
    assert failures("class", {}) == ()
