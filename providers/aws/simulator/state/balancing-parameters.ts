// Parameters of requests for load balancers, by name.

import { Refused } from "#ccm/testing";
import { listIn, recordIn, type SentParameters, tagsIn, textIn, textsIn } from "../query.ts";

export type Params = SentParameters;

export const text = (params: Params, name: string): string => textIn(params[name]) ?? "";
/** An empty list is sent as an empty text. */
export const list = (params: Params, name: string): readonly string[] => textsIn(params[name]);
export const records = (params: Params, name: string): readonly Params[] =>
  listIn(params[name]).map(recordIn);
export const record = (params: Params, name: string): Params => recordIn(params[name]);
export const tagMap = (params: Params): Map<string, string> =>
  new Map(Object.entries(tagsIn(params["Tags"])));
export const refusal = (code: string, message: string): Refused => new Refused(400, message, code);
