"""The sync protocol without I/O: bytes in, bytes out, no clock, no socket (design section 8, docs/sync.md).

**What a transport has to do.** It carries *messages*: byte strings of at most `Limits.sync_message_bytes`, framed
as it likes. A round is a conversation of questions and answers, and only the client asks:

```text
messages = client.start()                      # ClientRound: a list with the first message
while messages:
    (question,) = messages
    (answer,) = server.receive(question)       # ServerRound: always exactly one answer, for any bytes at all
    messages = client.receive(answer)          # the next question, or [] once the round is over
client.done, client.report
```

- `ClientRound.start()` and `.receive(answer)` return a list of no or one message. It is empty when the round is
  over, whether all went well (`.done`) or not (`.report` says what is missing). `.receive` raises `SyncRefused` when
  the other end turned the round down, and `BadMessage` for bytes that are wrong; the round is over then.
- `ServerRound` has `.closed`, `.done`, `.report`, `.other` (the client's key) and `.bank`, the last two once it let the
  client in. `ServerRound.receive(question)` never raises for what a stranger sends: it answers with an error message,
  and `.closed` turns true. It may raise `StorageError`, which is the server's own trouble: close the connection.
- Both may be dropped at any moment and nothing has to be told to anybody: what was committed stays, a new round
  finds the rest.
- **Stateless transports** (one POST for each question) keep the `ServerRound`s in a `Desk`: `desk.answer(question,
  binding, now_ms)` finds the round by the id that every question carries, and forgets it 60 s after its last
  question. Stream transports make one `ServerRound` for each stream; many rounds may follow on one connection.
- **Binding**: bytes that both ends know of the channel, equal at both, that a middleman can't make equal: for HTTPS
  the origin that was dialled (`https://host:port`) in UTF-8, for iroh the dialler's key then the other's (32 bytes
  each). What is signed in `hello` covers it. A transport without one (plain HTTP beyond loopback) must ask its user.
- Deadlines, retries and rates are the transport's: a `receive` of either side takes at most as long as committing
  one message does.
- Blocking: `receive` verifies signatures and writes to the disk. Call it off the event loop, and not from two
  threads at once for one round.
- **Live tail.** A client made with `follow=True` asks, once all is done, to be told what is new; `.following` is true
  then. That question has no answer: `server.receive` returns an empty list. From then on `server.news()` returns
  messages, as often as the transport cares to ask; each goes to `client.receive`, which returns nothing to send.

`muniment.syncing.connect` and `.serve` make the two ends for a bank.
"""
