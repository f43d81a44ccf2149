"""Copies of a line in other places, brought up to it at the end of a run that has a spec."""

from sfumato.flows.inputs.passphrases import destination_secrets
from sfumato.flows.inputs.resolved import ResolvedRun
from sfumato.tasks.lines.known_destinations import knows_destinations


def bring_copies(resolved: ResolvedRun) -> tuple[str, ...]:
    """Bring all destinations of a run's spec up to its line.

    Returns:
        The addresses of those that are behind, once all were tried.
    """
    copies = resolved.spec.publish.copies
    if not (copies or knows_destinations(resolved.line.private)):
        return ()
    from sfumato.tasks.deliver import deliver  # most lines have no copies

    return deliver(resolved.line, copies, destination_secrets)
