"""Errors whose messages are one line each, which names the thing, the rule and the place.

    SfumatoError
    ├── SpecError         2  the release spec, or an override, is wrong
    ├── InputError        2  a source, hierarchy or release directory cannot be read as declared
    ├── QueryError        2  a query cannot be answered
    ├── MissingPackageError  2  a package is not installed that this needs
    ├── PromiseError      3  a promise cannot be kept, or was broken: nothing is published
    └── Fault             1  a bug, or a fault of the machine
        └── TransientFault   one that may be gone in a while: worth another attempt

The number is the exit code of the command line. Messages of these errors, and of no others, are
shown to people and stored by the orchestrator: they may hold names, rules, positions and
parameters, never a value of the data.
"""

WAY_OUT = "\n  - "
"""What begins each way out below a message: on a terminal each has a line of its own."""


class SfumatoError(Exception):
    """Base of all errors whose message is fit to be shown."""

    exit_code = 1


class SpecError(SfumatoError):
    """The release spec or an override is wrong."""

    exit_code = 2


class InputError(SfumatoError):
    """A source, hierarchy or release directory cannot be read as declared."""

    exit_code = 2


class QueryError(SfumatoError):
    """A query cannot be answered on this release."""

    exit_code = 2


class MissingPackageError(SfumatoError):
    """A package is not installed that this needs; it never says that a promise is broken."""

    exit_code = 2


class PromiseError(SfumatoError):
    """A promise cannot be kept, or was broken; what cannot be verified counts as broken."""

    exit_code = 3


class Fault(SfumatoError):
    """A bug or a fault of the machine."""

    exit_code = 1


class TransientFault(Fault):
    """A fault that may be gone in a while, such as a connection that broke."""
