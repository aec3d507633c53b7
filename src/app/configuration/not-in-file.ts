// Flags that the file of --config cannot hold, each with what to do.

const commandLine = "can only be given on the command line";

export const notInFile: Readonly<Record<string, string>> = {
  config: commandLine,
  help: commandLine,
  notices: commandLine,
  version: commandLine,
  "config-set": "is for the command line; write the settings under cloud",
};
