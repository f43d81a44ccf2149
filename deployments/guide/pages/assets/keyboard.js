// What the theme makes while a page is read, with names and within reach of a keyboard.
const mend = () => {
  document.querySelectorAll(".md-typeset__scrollwrap").forEach(box => { box.tabIndex = 0; });
  document.querySelectorAll(".md-code__nav").forEach((nav, number) => {
    nav.ariaLabel = `Code ${number + 1}`;
  });
};
new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
mend();
