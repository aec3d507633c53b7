// `support-bundle`: writes a single file for a bug report: collects the parts, redacts secrets, writes the file and lists its content.

import { gzipSync } from "node:zlib";
import { Redaction } from "../../core/redaction.ts";
import { serverProblems } from "../../inspect/explain/ask-manager.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import type { Command } from "./command.ts";

export const supportBundleCommand: Command = {
  page: {
    name: "support-bundle",
    summary:
      "Write one .tar.gz for a bug report: version, configuration, state, metrics, events and log, without secrets.",
    details: [
      "With --server or --server-ca-file, the bundle includes data from a running manager, as in explain. Otherwise it contains only data from the API server and this machine. Files that could not be collected are listed with the reason.",
      "Secret values, credentials in URLs and other likely credentials are redacted. Names and addresses in your cluster stay, so read the files before you publish them. The file is readable only by you.",
    ],
    flags: ["file", "server", "server-ca-file", "timeout", "kubeconfig", "context"],
    exitCodes: {
      "0": "the file is written, and contains everything",
      "1": "the file could not be written",
      "3": "the file is written, but something is missing; the list says why",
    },
    examples: [
      {
        text: "From the leader",
        words: "support-bundle --server=https://10.0.0.5:10258 --server-ca-file=ca.crt",
      },
      { text: "Without a running manager", words: "support-bundle --file=bundle.tar.gz" },
    ],
  },
  requires: "nothing",
  async run(invocation, words) {
    const { configuration, platform, console } = invocation;
    const { clock, files } = platform;
    const { flags } = configuration.settings;
    // The invalid configuration may be the subject of the report, so only words and flags of this command are checked.
    const unusable = [
      ...invocation.unexpectedWords("support-bundle", words),
      ...serverProblems(flags.server),
    ];
    if (invocation.refuse(unusable)) return;
    const now = clock.now();
    const time = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, "");
    const path = flags.file ?? `fairlead-support-${time}.tar.gz`;
    if ((await files.version(path)) !== undefined) {
      invocation.refuse([invalidFlag("file", `${path} exists already; name another file, or delete it`)]);
      return;
    }
    try {
      // Loaded here because the manager writes no bundle.
      const [{ collectBundle }, { withoutCredentials }, { tar }] = await Promise.all([
        import("../../inspect/support/collect.ts"),
        import("../../inspect/support/bundle-redaction.ts"),
        import("../../inspect/support/tar.ts"),
      ]);
      const redaction = new Redaction([], { limit: Number.POSITIVE_INFINITY });
      const clean = (text: string): string => withoutCredentials(redaction.apply(text));
      const collection = await collectBundle(await invocation.operator("support-bundle"), redaction);
      const { missing, entries } = collection;
      if (missing.length > 0) collection.add("missing.txt", `${missing.join("\n")}\n`);
      const cleaned = entries.map(({ name, content }) => ({ name, content: clean(content) }));
      const packed = cleaned.map(({ name, content }) => {
        return { path: name, mode: 0o600, content: new TextEncoder().encode(content) };
      });
      await files.write(path, gzipSync(tar(packed, Math.floor(now / 1000))), 0o600);
      const size = ({ content }: { readonly content: string }): string => `${content.length}`.padStart(9);
      await console.out(
        [
          `Wrote ${path}, readable only by you:`,
          "",
          ...cleaned.map((entry) => `${size(entry)}  ${entry.name}`),
          ...(missing.length === 0 ? [] : ["", "Missing:", ""]),
          ...missing.map((text) => `  ${clean(text)}`),
          "",
          "Secrets were redacted. The file contains names and addresses of your cluster: read it before you publish it.",
          "",
        ].join("\n"),
      );
      invocation.exitCode = missing.length === 0 ? 0 : 3;
    } catch (error) {
      invocation.failWith(error);
    }
  },
};
