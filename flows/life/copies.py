"""Copies of a line in other places, brought up to it at the end of a run that has a plan."""

from sfumato.flows.passphrases import destination_secrets
from sfumato.flows.plan import Plan
from sfumato.tasks.deliver import deliver
from sfumato.tasks.publication.life.destinations import knows_destinations


def bring_copies(plan: Plan) -> tuple[str, ...]:
    """Bring all destinations of a plan's spec up to its line.

    Returns:
        The addresses of those that are behind, once all were tried.
    """
    copies = plan.spec.publish.copies
    if not (copies or knows_destinations(plan.line.private)):
        return ()
    return deliver(plan.line, copies, destination_secrets)
