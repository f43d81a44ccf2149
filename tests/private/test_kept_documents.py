"""Documents of what was judged, kept for a version."""

from sfumato.tasks.private.workdir import private_directory
from sfumato.tasks.stages.stage import keep_documents


def test_what_a_link_leads_to_is_not_kept(tmp_path):
    secret = private_directory(tmp_path / "secret")
    (secret / "page.html").write_text("a secret")
    documents = private_directory(tmp_path / "candidate" / "great-expectations")
    (documents / "page.html").write_text("counts")
    (documents / "there").symlink_to(secret)
    keep_documents(tmp_path / "candidate", private_directory(tmp_path / "reports"))
    folder = tmp_path / "reports" / "great-expectations" / "release"
    assert (folder / "page.html").read_text() == "counts"
    assert (folder / "there").is_symlink()
