import { start } from "../kit/start";
import "./console.css";
import Console from "./Console.svelte";

void start(Console);
