// Changes of the cloud's routes, each journalled with its reason. What the fence in the transport refuses is journalled as
// refused.

import { isFenced } from "../../../cloud/disposition.ts";
import {
  type JournalledOptions,
  type JournalledSend,
  journalledSend,
  type WrittenDown,
} from "../../journalled-send.ts";

export type CloudChange = WrittenDown;

export interface CloudWrites {
  /** One call that makes these changes, all or none; `observed` when it was not sent. */
  readonly send: JournalledSend;
}

export function createCloudWrites(options: JournalledOptions): CloudWrites {
  return {
    send: journalledSend(options, "cloud", isFenced),
  };
}
