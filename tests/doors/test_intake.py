"""The door, over real HTTP and into real PostgreSQL."""


async def test_an_object_is_one_event(serve):
    intake = await serve()
    answer = await intake.post(b'{"email":"a@x.test"}')
    assert answer.status_code == 202, answer.text
    assert answer.json()["accepted"] == 1
    row = await intake.stored(answer.json()["events"][0])
    assert (row["source_id"], row["lane"], row["state"], row["item"], row["body"]) == (
        "open",
        "batch",
        "pending",
        0,
        None,
    )
    assert row["raw"] == b'{"email":"a@x.test"}'
