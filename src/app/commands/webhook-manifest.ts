// `webhook-manifest`: the ValidatingWebhookConfiguration that registers the admission webhook with the API server.

import type { Problem } from "../../core/problem.ts";
import { webhookManifest } from "../endpoints/webhook-registration.ts";
import { invalidFlag } from "../flags/flag-problems.ts";
import type { Flags } from "../flags/flag-table.ts";
import { chooseWebhooks } from "../flags/webhook-names.ts";
import type { Command } from "./command.ts";

function manifestProblems(flags: Flags): readonly Problem[] {
  const problems: Problem[] = [];
  const asked = flags.webhooks ?? [];
  if (asked.length > 0 && chooseWebhooks(asked).enabled.length === 0) {
    problems.push(
      invalidFlag("webhooks", "selects no webhook, so there is nothing to register; omit it, or name one"),
    );
  }
  if (flags["webhook-secure-port"] === 0) {
    problems.push(
      invalidFlag(
        "webhook-secure-port",
        "is 0, so no webhook is served; set it to the port that the manager uses",
      ),
    );
  }
  return problems;
}

export const webhookManifestCommand: Command = {
  page: {
    name: "webhook-manifest",
    summary:
      "Print the ValidatingWebhookConfiguration for --webhooks, to pipe into kubectl apply -f -. Pass the manager's flags, because the manifest contains the webhook port and the CA in --webhook-cert-dir.",
    details: [
      "A missing CA is reported on stderr. docs/endpoints.md describes all steps, and the registration for several replicas.",
    ],
    flags: [...(["webhooks", "webhook-secure-port", "webhook-cert-dir"] as const), "webhook-tls-cert-file"],
    examples: [
      {
        text: "Where the manager's certificate is readable",
        words: "webhook-manifest --webhook-cert-dir=/var/lib/fairlead/webhook | kubectl apply -f -",
      },
    ],
  },
  async run(invocation) {
    const { program, platform, console, configuration } = invocation;
    const { flags } = configuration.settings;
    if (invocation.refuse(manifestProblems(flags))) return;
    // Loaded here because this code creates certificates, which few commands need.
    const { authorityError, findAuthority } = await import("../endpoints/open-webhook.ts");
    try {
      const { ca, note } = await findAuthority(flags, program, platform);
      await console.out(webhookManifest(program, flags["webhook-secure-port"], ca));
      if (note !== undefined) invocation.writeError(note);
    } catch (error) {
      invocation.refuse([authorityError(error)]);
    }
  },
};
