import { start } from "../kit/start";
import Missing from "./Missing.svelte";

void start(Missing);
