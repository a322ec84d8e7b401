// The official OpenAI client for Node.js in front of the gateway: `node_client.mjs BASE_URL`. Prints a stream's text and its end.
import OpenAI from "openai";

const client = new OpenAI({ baseURL: process.argv[2], apiKey: "any", maxRetries: 0 });
const messages = [{ role: "user", content: "What is the capital of France?" }];
const stream = await client.chat.completions.create({ model: "small", messages, max_tokens: 12, stream: true });
let reason;
for await (const chunk of stream) {
  for (const choice of chunk.choices) {
    process.stdout.write(choice.delta.content ?? "");
    reason = choice.finish_reason ?? reason;
  }
}
console.log(` ${reason}`);
