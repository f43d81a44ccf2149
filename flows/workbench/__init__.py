"""The local web application in which stewards choose what to release: pages over the commands."""
