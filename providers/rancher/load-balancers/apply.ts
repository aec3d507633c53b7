// Applies single steps: each is one request, except the removal of what may have other users.

import { type Call, CloudError, deleted, done, inProgress, type StepOutcome, seconds } from "#ccm";
import { collect, type RancherApi } from "../api/client.ts";
import { isNameTaken } from "../api/errors.ts";
import type { Resource } from "../api/resources.ts";
import type { RancherStep, Send } from "./model.ts";

export async function applyStep(api: RancherApi, step: RancherStep, call: Call): Promise<StepOutcome> {
  const { send } = step;
  switch (send.kind) {
    case "create":
      try {
        await api.create(send.type, send.body, call);
      } catch (error) {
        if (!CloudError.is(error) || !isNameTaken(error.message)) throw error;
        // Nothing was created: a load balancer that was removed keeps its name for some seconds.
        if (send.type === "loadBalancerService")
          throw new CloudError(error.kind, error.message, {
            ...error.detail,
            retryAfter: { in: seconds(5) },
          });
        // Another Service has created it at the same time, or it is being removed: a later plan sees which.
        return inProgress(`${step.on ?? "its name"}, which exists in Rancher`);
      }
      return done();
    case "change":
      await api.send("PUT", `PUT (${step.do})`, send.link, call, send.body);
      return done();
    case "act":
      await api.send("POST", `POST (${step.do})`, send.link, call, {});
      return send.isRetry === true
        ? inProgress(`${step.on ?? "it"} to become active`, { checkAfter: seconds(30) })
        : done();
    case "remove":
      return deleted(api.send("DELETE", `DELETE (${step.do})`, send.link, call));
    case "remove unused":
      return removeUnused(api, step, send, call);
  }
}

type RemoveUnused = Extract<Send, { readonly kind: "remove unused" }>;

async function removeUnused(
  api: RancherApi,
  { do: title, on = "" }: RancherStep,
  { link, consumers, user, release }: RemoveUnused,
  call: Call,
): Promise<StepOutcome> {
  const pages = api.listLink<Resource>("GET consumedbyservices", consumers, call);
  const found = await collect(pages).catch((error: unknown) => {
    if (CloudError.is(error) && error.kind === "not-found") return [];
    throw error;
  });
  const isUsed = found.some(({ id, state, removed }) => id !== user && state !== "removing" && !removed);
  if (!isUsed) return deleted(api.send("DELETE", `DELETE (${title})`, link, call));
  // It belongs to its other users now, and is not looked at again.
  if (release !== undefined)
    await api.send("PUT", "PUT (release external service)", link, call, { metadata: release });
  return inProgress(`the other users of external service ${on}`);
}
