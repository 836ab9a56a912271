/** What the event asks buyers for, remembered in this browser. */

import type { components } from "../api/client";
import { recall, remember } from "../kit/remembered";
import type { Buyer } from "./purchase";

type Asked = components["schemas"]["BuyerFields"];
export type BuyerField = keyof Asked;

/** What cannot be right; the server looks closer. */
const LOOKS: Record<BuyerField, RegExp> = { userName: /./, phone: /\d{3}/, email: /.@./ };

export class BuyerForm {
  values = $state<Record<BuyerField, string>>({
    userName: recall("buyer.name") ?? "",
    phone: recall("buyer.phone") ?? "",
    email: recall("buyer.email") ?? "",
  });
  errors = $state<Partial<Record<BuyerField, string>>>({});

  /** The fields that this event asks for. */
  fields(asked: Asked): BuyerField[] {
    return (["userName", "phone", "email"] as const).filter((field) => asked[field] !== "absent");
  }

  /** The buyer, or null: something is missing, and said beside its field. */
  read(asked: Asked, need: Record<BuyerField, string>): Buyer | null {
    const buyer: Buyer = {};
    this.errors = {};
    for (const field of this.fields(asked)) {
      const text = this.values[field].trim();
      if (text ? !LOOKS[field].test(text) : asked[field] === "required") this.errors[field] = need[field];
      else if (text) {
        buyer[field] = text;
        remember(`buyer.${field === "userName" ? "name" : field}`, text);
      }
    }
    return Object.keys(this.errors).length > 0 ? null : buyer;
  }

  /** The server found something wrong with a field. */
  refused(field: string | undefined, message: string): boolean {
    if (!field || !(field in LOOKS)) return false;
    this.errors[field as BuyerField] = message;
    return true;
  }
}
