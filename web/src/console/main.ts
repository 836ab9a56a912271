import { start } from "../kit/start";
import Console from "./Console.svelte";

start(Console);
