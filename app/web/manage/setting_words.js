// Settings of a project in words: titles, and names of choices (x-names), come from the service's OpenAPI document.

/** The settings that there are, by name, as JSON schemas. */
export async function settingSchemas() {
  const document_ = await (await fetch("openapi.json")).json();
  return document_.components.schemas.ProjectSettings.properties;
}

/** What a value of a setting is called. */
export const valueName = (schema, value) => schema["x-names"]?.[value ?? ""] ?? value;
