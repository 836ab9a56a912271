import { start } from "../kit/start";
import Console from "./Console.svelte";

void start(Console);
