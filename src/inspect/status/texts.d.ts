// Files that are bundled as text: imported with { type: "text" }.

declare module "*.css" {
  const text: string;
  export = text;
}

declare module "*.js" {
  const text: string;
  export = text;
}
