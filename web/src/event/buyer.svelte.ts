/** What the event asks buyers for, remembered in this browser; asked where a seat is bought and where a hold is confirmed. */

import { tick } from "svelte";

import type { components } from "../api/client";
import { recall, remember } from "../kit/remembered";
import type { Buyer } from "./purchase";
import type { Sale } from "./sale.svelte";

type Asked = components["schemas"]["BuyerFields"];
export type BuyerField = keyof Asked;

/** Of a server that does not say. */
const ASKED: Asked = { userName: "required", phone: "required", email: "absent" };
/** What cannot be right; the server looks closer. */
const LOOKS: Record<BuyerField, RegExp> = { userName: /./, phone: /\d{3}/, email: /.@./ };

export class BuyerForm {
  values = $state<Record<BuyerField, string>>({
    userName: recall("buyer.name") ?? "",
    phone: recall("buyer.phone") ?? "",
    email: recall("buyer.email") ?? "",
  });
  errors = $state<Partial<Record<BuyerField, string>>>({});

  constructor(readonly sale: Sale) {}

  get asked(): Asked {
    return this.sale.event?.buyerFields ?? ASKED;
  }

  /** The fields that this event asks for. */
  get fields(): BuyerField[] {
    return (["userName", "phone", "email"] as const).filter((field) => this.asked[field] !== "absent");
  }

  /** Sends it if nothing is missing. What is wrong is said beside its field, and there the cursor goes. */
  async send(need: Record<BuyerField, string>, how: (buyer: Buyer) => Promise<void>): Promise<void> {
    const buyer = this.#read(need);
    if (buyer) {
      await how(buyer);
      const { refusal } = this.sale;
      if (refusal?.reason === "validation" && this.#refused(refusal.field, need)) this.sale.refusal = null;
    }
    await tick();
    document.querySelector<HTMLInputElement>(".ticket [aria-invalid]")?.focus();
  }

  #read(need: Record<BuyerField, string>): Buyer | null {
    const buyer: Buyer = {};
    this.errors = {};
    for (const field of this.fields) {
      const text = this.values[field].trim();
      if (text ? !LOOKS[field].test(text) : this.asked[field] === "required") this.errors[field] = need[field];
      else if (text) {
        buyer[field] = text;
        remember(`buyer.${field === "userName" ? "name" : field}`, text);
      }
    }
    return Object.keys(this.errors).length > 0 ? null : buyer;
  }

  /** The server found something wrong with a field. */
  #refused(field: string | undefined, need: Record<BuyerField, string>): boolean {
    if (!field || !(field in LOOKS)) return false;
    this.errors[field as BuyerField] = need[field as BuyerField];
    return true;
  }
}
