"""What should not leave the machine is taken out of a report, and the rest stays as it is."""

from __future__ import annotations

import msgspec
import pytest

from f64doctor.render.json import render_json
from f64doctor.render.masking import Known, Masking, masked, secrets_of
from f64doctor.render.text import render_text
from f64doctor.report import HeldBack, Location, Report
from tests.reports import failed_report

ANN = Known(
    "/home/ann", "ann", ("gpu7.lab.example", "gpu7"), secrets_of({"WANDB_API_KEY": "0123456789abcdef", "PATH": "/bin"})
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/ann/work/train.py", "~/work/train.py"),
        ("/home/annette/x and /Users/bob/y", "/home/<user-1>/x and /Users/<user-2>/y"),
        ("login ann@gpu7", "login <user-1>@<host-1>"),
        ("gpu7.lab.example is up", "<host-1> is up"),
        ("key 0123456789abcdef", "key <secret-1>"),
        ("postgresql://app:hunter2@db/x", "postgresql://<secret-1>@db/x"),
        ("https://ghp_abcdefghijklmnopqrstuvwxyz012345@github.com/a", "https://<secret-1>@github.com/a"),
        ("mail to a.b+c@mail.example.org now", "mail to <email-1> now"),
        ("AKIAIOSFODNN7EXAMPLE", "<secret-1>"),
        ("Authorization: Bearer abcdefghijklmnop.q", "Authorization: Bearer <secret-1>"),
        ("token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.abc", "token <secret-1>"),
        ('connect(password="hunter2")', 'connect(password="<secret-1>")'),
        ("?api_key=a1b2c3d4e5&x=1", "?api_key=<secret-1>&x=1"),
        ('{"secret_key": "s3cr3t"}', '{"secret_key": "<secret-1>"}'),
        ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----", "<secret-1>"),
    ],
)
def test_what_names_or_lets_in_somebody_has_a_stand_in(text: str, shown: str) -> None:
    assert Masking(ANN).text(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "token = tokenizer(x)",
        "max_tokens: 512",
        "model.fit(x, y, epochs=3)  # annealing",
        "x @ w.T",
        "author = names[0]",
        "train.py:6  keras.config.set_floatx('float64')",
        "version 2.21.0, 53 of 53 mantissa bits in use",
        "auth=self.auth",
    ],
)
def test_what_is_nobody_s_stays(text: str) -> None:
    assert Masking(ANN).text(text) == text


def test_the_same_thing_has_the_same_stand_in_everywhere() -> None:
    masking = Masking(ANN)
    assert masking.text("a@x.org b@x.org a@x.org") == "<email-1> <email-2> <email-1>"
    assert masking.text("b@x.org") == "<email-2>"


def test_an_everyday_name_takes_no_word_out_of_the_report() -> None:
    assert Masking(Known("/root", "root", ("model",), ())).text("the root cause of model") == "the root cause of model"


def test_a_masked_report_is_a_report_and_says_nothing_of_ann() -> None:
    report = failed_report()
    run = msgspec.structs.replace(
        report.runs[0],
        log_tail="user ann on gpu7\nAPI 0123456789abcdef\nann@lab.example",
        held_back=[
            HeldBack("mail", "to boss@lab.example", Location("/home/ann/train.py", 3, 'send("boss@lab.example")'))
        ],
    )
    report = msgspec.structs.replace(report, runs=[run])
    shown = masked(report, ANN)
    assert isinstance(shown, Report)
    for text in (render_json(shown), render_text(shown, width=200)):
        for secret in ("ann", "gpu7", "0123456789abcdef", "lab.example"):
            assert f" {secret}" not in text
            assert f"/{secret}" not in text
    assert masked(failed_report(), ANN) == failed_report()
