import { start } from "../kit/start";
import Event from "./Event.svelte";

void start(Event);
