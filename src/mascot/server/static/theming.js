// Light or dark: as the system says until the reader says otherwise.

const KEY = "mascot-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

export function setUpTheme(button, changed) {
  const current = () => document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light");
  const tell = () => button.setAttribute("aria-label", `Use the ${current() === "dark" ? "light" : "dark"} theme`);
  button.addEventListener("click", () => {
    const next = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // Storage may be forbidden; the choice then lasts as long as the page.
    }
    tell();
    changed();
  });
  system.addEventListener("change", tell);
  tell();
}
