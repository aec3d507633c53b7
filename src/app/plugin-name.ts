// Determines from the name or path of the process how kubectl starts the executable: as its plugin, or to
// complete the words of a plugin. Pure.

/** On Windows, paths contain backslashes and programs have an extension. */
const program = (prefix: string): RegExp =>
  new RegExp(`(?:^|[\\\\/])(${prefix}([^\\\\/]+?))(?:\\.exe)?$`, "i");
const plugin = program("kubectl-");
const completion = program("kubectl_complete-");

/** The name of the file, such as kubectl-fairlead; undefined if the process is not a plugin. */
export const pluginFile = (invokedAs: string): string | undefined => plugin.exec(invokedAs)?.[1];

/** The command that the user types, such as `kubectl fairlead`; undefined if the process is not a plugin. */
export function pluginName(invokedAs: string): string | undefined {
  const words = plugin.exec(invokedAs)?.[2];
  return words === undefined ? undefined : `kubectl ${words.replaceAll("-", " ").replaceAll("_", "-")}`;
}

export const isPluginCompletion = (invokedAs: string): boolean => completion.test(invokedAs);

/** The name of a program that can only be a plugin: even a renamed file never starts a manager without a command. */
export const asPlugin = (invokedAs: string): string =>
  isPluginCompletion(invokedAs) || pluginFile(invokedAs) !== undefined ? invokedAs : "kubectl-fairlead";
