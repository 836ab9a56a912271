import { start } from "../kit/start";
import Missing from "./Missing.svelte";

start(Missing);
