import { start } from "../kit/start";
import Mine from "./Mine.svelte";

void start(Mine);
