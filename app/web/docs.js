// The interface as Swagger UI shows it; addresses are those of this service alone.
SwaggerUIBundle({ url: "openapi.json", dom_id: "#docs", deepLinking: true, tryItOutEnabled: false });
