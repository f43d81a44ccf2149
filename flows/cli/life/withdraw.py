"""`sfumato withdraw`: take a version back, for good."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sfumato.expectations.shared.errors import SpecError
from sfumato.flows.cli import show
from sfumato.flows.cli.options import as_document
from sfumato.flows.cli.show import echo, echo_json, one_line

if TYPE_CHECKING:
    from sfumato.flows.life.withdrawal import WithdrawalPlan
    from sfumato.tasks.publication.withdrawal import Withdrawn


@click.command()
@click.argument("version", type=click.Path(path_type=Path))
@click.option("--reason", required=True, help="why, in one line; the reason will be public")
@click.option("--yes", is_flag=True, help="withdraw without asking")
@click.option("--signed-by", "key", help="the key that signs the withdrawal (sfumato keys)")
@click.option("--unsigned", is_flag=True, help="do not sign it, even if the version was signed")
@as_document
def withdraw(
    version: Path, reason: str, yes: bool, key: str | None, unsigned: bool, as_json: bool
) -> None:
    """Withdraw VERSION, the directory of a published version: a tombstone takes its place.

    Afterwards the latest version that was not withdrawn is current, if there is one. The reason is
    public. The withdrawal is signed with the key that signed the version, or the key that replaced
    it. Exits 1 if the version may still be in a destination of the line.
    """
    from sfumato.flows.life.withdrawal import plan_withdrawal

    if key and unsigned:
        raise click.UsageError("--signed-by and --unsigned exclude each other. Use one of them")
    plan = plan_withdrawal(version, reason, key, unsigned=unsigned)
    if not plan.done:
        _explain(plan)
        if not yes and not _confirm(version):
            show.say("nothing was withdrawn")
            raise click.exceptions.Exit(1)
    _tell(version, plan.carry_out(), as_json)


def _tell(version: Path, done: "Withdrawn", as_json: bool) -> None:
    for notice in done.notices:
        show.say(notice)
    if done.existed:
        show.say(f"it was withdrawn on {done.tombstone.day}: {done.tombstone.reason}")
    if done.kept:
        show.say(
            "its tables are kept in the line's private state, because the next version "
            "is compared with them. Back up the state again (sfumato line backup)"
        )
    if as_json:
        document = {
            "withdrawn": done.tombstone.day,
            "current": done.current,
            "behind": [*done.behind],
        }
        echo_json({"version": str(version), **document})
    else:
        echo(f"{version}: withdrawn; current: {done.current or 'none'}")
    for message in done.behind:
        show.say(
            f"{message}. The version may still be there; to complete the withdrawal, run "
            f"sfumato deliver {version.parent}"
        )
    if done.behind:
        raise click.exceptions.Exit(1)


def _explain(plan: "WithdrawalPlan") -> None:
    version = plan.version
    show.say(f"line {plan.line.name}, version {plan.number}, {version.status} {version.time}")
    show.say(f"digest {version.digest}")
    show.say("This reason will be public, on the line's page, in its feed and in the tombstone:")
    show.say(f"  {one_line(plan.reason)}")
    show.say(f"Signed by: {plan.signer.key if plan.signer else 'nobody'}")
    show.say(f"Current afterwards: {plan.current or 'none'}")
    show.say("Copies that others have cannot be recalled, and the withdrawal cannot be undone.")
    show.say("Later versions are still compared with this version.")


def _confirm(version: Path) -> bool:
    if not sys.stdin.isatty():
        raise SpecError(
            f"{version}: nothing was withdrawn, because there is no terminal to "
            "confirm at. To withdraw it, add --yes"
        )
    return click.confirm(f"Withdraw {one_line(str(version))}?", err=True)
