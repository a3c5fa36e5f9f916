// Runs before the first paint, so that a remembered theme does not flash.
(function () {
  "use strict";
  let theme = null;
  try { theme = localStorage.getItem("mascot-theme"); } catch { /* storage may be forbidden; the system's theme is used */ }
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
})();
