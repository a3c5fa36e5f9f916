// The light or dark theme: the system's until the reader chooses one. This is a classic script, which runs before the
// first paint, so that a remembered theme does not flash.
(function () {
  "use strict";
  const KEY = "mascot-theme";
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  let stored = null;
  try { stored = localStorage.getItem(KEY); } catch { /* storage may be forbidden; the system's theme is used */ }
  if (stored === "light" || stored === "dark") root.dataset.theme = stored;

  const other = () => ((root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark" ? "light" : "dark");

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    const label = () => button.setAttribute("aria-label", `Use the ${other()} theme`);
    button.addEventListener("click", () => {
      root.dataset.theme = other();
      try { localStorage.setItem(KEY, root.dataset.theme); } catch { /* the theme then lasts as long as the page */ }
      label();
      document.dispatchEvent(new Event("mascot:theme"));
    });
    system.addEventListener("change", label);
    label();
  });
})();
