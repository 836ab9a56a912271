/** The page of `tickettock rush --html`: one file with its script, styles and figures. */

import "../kit/base.css";
import "../kit/theme.svelte";

import { mount } from "svelte";

import Report from "./Report.svelte";
import type { RushReport } from "./figures";

const figures = JSON.parse(document.querySelector("#rush")?.textContent ?? "null") as RushReport;
mount(Report, { target: document.body, props: { figures } });
