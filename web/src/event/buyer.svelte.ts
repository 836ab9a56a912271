/** Name and phone for a ticket, remembered in this browser. */

import { recall, remember } from "../kit/remembered";
import type { Buyer } from "./purchase";

export class BuyerForm {
  name = $state(recall("buyer.name") ?? "");
  phone = $state(recall("buyer.phone") ?? "");
  nameError = $state<string | null>(null);
  phoneError = $state<string | null>(null);

  /** The buyer, or null: something is missing, and said beside its field. */
  read(needName: string, needPhone: string): Buyer | null {
    const [userName, phone] = [this.name.trim(), this.phone.trim()];
    this.nameError = userName ? null : needName;
    this.phoneError = /\d{3}/.test(phone) ? null : needPhone;
    if (this.nameError || this.phoneError) return null;
    remember("buyer.name", userName);
    remember("buyer.phone", phone);
    return { userName, phone };
  }

  /** The server found something wrong with a field. */
  refused(field: string | undefined, message: string): boolean {
    if (field === "userName") this.nameError = message;
    else if (field === "phone") this.phoneError = message;
    else return false;
    return true;
  }
}
