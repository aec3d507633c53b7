// An error response of the SOAP API.

import { type Xml, xml } from "#ccm";

export class Fault extends Error {
  readonly type: string;
  readonly content: Xml;

  constructor(type: string, message: string, content: Xml = xml``) {
    super(message);
    this.type = type;
    this.content = content;
  }
}

export const notAuthenticated = (): Fault =>
  new Fault(
    "NotAuthenticated",
    "The session is not authenticated.",
    xml`<privilegeId>System.View</privilegeId>`,
  );
