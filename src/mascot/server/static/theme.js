// Runs before the first paint, so that a remembered theme does not flash.
(function () {
  "use strict";
  let kept = null;
  try { kept = localStorage.getItem("mascot-theme"); } catch { /* storage may be forbidden; the system's theme is used */ }
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
})();
