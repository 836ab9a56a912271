import { start } from "../kit/start";
import Rooms from "./Rooms.svelte";

void start(Rooms);
