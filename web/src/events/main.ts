import { start } from "../kit/start";
import Events from "./Events.svelte";

void start(Events);
