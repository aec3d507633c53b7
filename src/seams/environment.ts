// The environment the process was started in, as values. Nothing else reads variables; whoever needs one is given it.

export type Environment = Readonly<Record<string, string | undefined>>;

export const systemEnvironment = (): Environment => process.env;

export const systemArguments = (): readonly string[] => process.argv.slice(2);
