// One invocation of the executable: the input and output of a command, and its exit code.

import { textOf } from "../../core/error-message.ts";
import { messageIn, type Problem } from "../../core/problem.ts";
import { isKubeError } from "../../kube/errors/kube-error.ts";
import { programOf } from "../../provider/program.ts";
import type { AnyCloud, AnyProvider } from "../../provider/provider.ts";
import { abortable } from "../../runtime/abortable.ts";
import { version } from "../build-info.ts";
import { closeCloud } from "../close-cloud.ts";
import type { Configuration } from "../configuration/configuration.ts";
import { ConfigurationError } from "../configuration/configuration-error.ts";
import type { Console, ExitCode } from "../console.ts";
import { withUserKubeconfig } from "../kube-client.ts";
import type { Operator } from "../operator.ts";
import { isPluginCompletion, pluginFile, pluginName } from "../plugin-name.ts";
import type { ManagerPlatform } from "../system-platform.ts";

export interface InvocationOptions {
  readonly provider: AnyProvider;
  readonly console: Console;
  readonly platform: ManagerPlatform;
  /** The configuration that was read at the start. */
  readonly configuration: Configuration;
  /** Reads the configuration again, for reloads. */
  readonly readConfiguration: () => Promise<Configuration>;
  readonly signal: AbortSignal;
}

export class Invocation {
  readonly provider: AnyProvider;
  readonly program: string;
  readonly console: Console;
  readonly platform: ManagerPlatform;
  readonly configuration: Configuration;
  readonly readConfiguration: () => Promise<Configuration>;
  readonly signal: AbortSignal;
  exitCode: ExitCode = 0;
  readonly #opened: AnyCloud[] = [];

  constructor(options: InvocationOptions) {
    this.provider = options.provider;
    this.program = programOf(options.provider);
    this.console = options.console;
    this.platform = options.platform;
    this.configuration = options.configuration;
    this.readConfiguration = options.readConfiguration;
    this.signal = options.signal;
  }

  /** The person who runs this command. */
  async operator(command: string): Promise<Operator> {
    const { provider, program, platform, configuration, signal } = this;
    const flags = await withUserKubeconfig(configuration.settings.flags, platform);
    const settings = { ...configuration.settings, flags };
    const userAgent = `${program}/${version} ${command}`;
    return { provider, program, platform, configuration, settings, signal, userAgent, opened: this.#opened };
  }

  /** Releases what the command holds in the cloud. */
  async closeClouds(): Promise<void> {
    await Promise.all(this.#opened.map((cloud) => closeCloud(cloud, this.platform.clock)));
  }

  get printsJson(): boolean {
    return this.configuration.settings.flags.output === "json";
  }

  /** Prints the data with --output=json, otherwise the text. */
  async print(data: unknown, text: string): Promise<void> {
    await this.console.out(this.printsJson ? `${JSON.stringify(data, undefined, 2)}\n` : text);
  }

  /** Prints what a command did after it printed its data. With --output=json, stdout has only the data, so the text goes to stderr. */
  async printOutcome(text: string): Promise<void> {
    if (this.printsJson) this.console.err(text);
    else await this.console.out(text);
  }

  /** Whether a change can be confirmed: with --yes, or by a person at the terminal. */
  get canConfirm(): boolean {
    const { yes } = this.configuration.settings.flags;
    return yes || (this.console.readLine !== undefined && !this.printsJson);
  }

  /** Asks the person at the terminal, unless --yes is set. */
  async isConfirmed(question: string): Promise<boolean> {
    if (this.configuration.settings.flags.yes) return true;
    this.console.err(`${question} Type yes: `);
    const line = await abortable(this.console.readLine?.() ?? Promise.resolve(""), this.signal);
    return line.trim().toLowerCase() === "yes";
  }

  /** Whether kubectl started the executable as its plugin. */
  get isPlugin(): boolean {
    return pluginFile(this.console.invokedAs ?? "") !== undefined;
  }

  /** Whether kubectl started the executable to complete words of its plugin. */
  get isCompletion(): boolean {
    return isPluginCompletion(this.console.invokedAs ?? "");
  }

  /** The command as the user types it: the program name, or `kubectl fairlead`. */
  get spokenName(): string {
    return pluginName(this.console.invokedAs ?? "") ?? this.program;
  }

  /** Writes one line to stderr, after the name of the program. */
  writeError(text: string): void {
    this.console.err(`${this.spokenName}: ${text}\n`);
  }

  /** Reports errors and sets exit code 2. Returns whether there were any; warnings are ignored. */
  refuse(problems: readonly Problem[]): boolean {
    const errors = problems.filter(({ severity }) => severity === "error");
    for (const problem of errors) this.writeError(messageIn(problem));
    if (errors.length > 0) this.exitCode = 2;
    return errors.length > 0;
  }

  refuseText(text: string): void {
    this.refuse([{ severity: "error", reason: "InvalidUsage", text }]);
  }

  /** Reports why the command failed: exit code 2 for errors that the operator must fix, 1 for all others. */
  failWith(error: unknown): void {
    if (error instanceof ConfigurationError) {
      this.refuse(error.problems);
      return;
    }
    this.writeError(textOf(error));
    this.exitCode = isKubeError(error) && error.fatal ? 2 : 1;
  }

  /** The word after an unknown flag may be its value, so only the flag is reported. */
  unexpectedWords(command: string, [word]: readonly string[]): readonly Problem[] {
    if (word === undefined || this.#hasUnknownFlag) return [];
    const text = `unexpected argument ${JSON.stringify(word)} after ${command}; pass one command, and flags that begin with --`;
    return [{ severity: "error", reason: "UnexpectedArgument", text }];
  }

  unknownCommand(word: string, hint: string): readonly Problem[] {
    if (this.#hasUnknownFlag) return [];
    return [
      {
        severity: "error",
        reason: "UnknownCommand",
        text: `unknown command ${JSON.stringify(word)}; ${hint}`,
      },
    ];
  }

  get #hasUnknownFlag(): boolean {
    return this.configuration.flagProblems.some(({ reason }) => reason === "UnknownFlag");
  }
}
