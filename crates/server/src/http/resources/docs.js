"use strict";
// What was chosen on the other pages counts here too. A browser may forbid the memory.
try {
  const theme = localStorage.getItem("tickettock.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch { /* As the system has it. */ }
SwaggerUIBundle({ url: "/openapi.json", dom_id: "#api", deepLinking: true, validatorUrl: null });
