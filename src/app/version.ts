// The version this executable was built as. The build script replaces the word; from the sources it is "dev".

declare const FAIRLEAD_VERSION: string | undefined;

export const version: string = typeof FAIRLEAD_VERSION === "string" ? FAIRLEAD_VERSION : "dev";
