// Makes the parts of the page, and shows each message of the feed in those that can be seen.

import { Charts } from "./charts.js";
import { Costs } from "./costs.js";
import { byId, setFigures, setText } from "./dom.js";
import { EndpointList, endpointsOf, moodOf } from "./endpoint-list.js";
import { Feed } from "./feed.js";
import { figuresOf } from "./figures.js";
import { InvokeForm } from "./invoke.js";
import { MemoryPanel } from "./memory.js";
import { ModelList } from "./models.js";
import { Queue } from "./queue.js";
import * as route from "./route.js";
import { showCaller } from "./session.js";
import { StoryDialog } from "./story.js";
import { Tabs } from "./tabs.js";
import { Timeline } from "./timeline.js";
import { UploadForm } from "./upload.js";
import { Waterfalls } from "./waterfalls.js";
import { WhatIf } from "./what-if.js";

const feed = new Feed();
const invoke = new InvokeForm();
const invokeModel = (model) => {
  invoke.choose(model);
  route.go({ panel: "invoke" });
};
const story = new StoryDialog(invokeModel);
const openStory = (model) => story.open(chosenName(), model);
const list = new EndpointList();
const tabs = new Tabs();
const memory = new MemoryPanel(openStory);
const models = new ModelList(openStory);
const panels = {
  memory: [memory, models],
  timeline: [new Timeline(openStory)],
  charts: [new Charts(), new Costs()],
  cold: [new Waterfalls(openStory)],
  queue: [new Queue()],
  invoke: [invoke, new UploadForm(invokeModel)],
  "what-if": [new WhatIf()],
};

let endpoints = new Map();

/** The endpoint that the page shows: the one in the address, or the first. */
function chosenName() {
  const { endpoint } = route.current();
  return endpoints.has(endpoint) ? endpoint : ([...endpoints.keys()].sort()[0] ?? "");
}

function showEndpoint() {
  const endpoint = endpoints.get(chosenName());
  byId("nothing").hidden = endpoint !== undefined || feed.state === "connecting";
  byId("endpoint").hidden = endpoint === undefined;
  if (endpoint === undefined) return;
  const { panel } = route.current();
  const { state, words } = moodOf(endpoint);
  setText(byId("endpoint-name"), endpoint.name);
  document.title = `${endpoint.name} · Torpor`;
  const mood = byId("endpoint-state");
  mood.dataset.state = state;
  setText(mood, words);
  const trouble = endpoint.record.trouble ?? "";
  byId("endpoint-trouble").hidden = !trouble;
  setText(byId("endpoint-trouble"), trouble);
  const { rollout } = endpoint.record;
  byId("endpoint-rollout").hidden = !rollout;
  setText(byId("endpoint-rollout"), rollout ? rolloutText(rollout) : "");
  setFigures(byId("figures"), figuresOf(endpoint));
  tabs.show(panel);
  for (const part of panels[panel]) part.update(endpoint, feed);
}

/** `Rollout to houses-2, step 1 of 2. Baking for 300 seconds …` */
function rolloutText({ to, step, steps, said, back }) {
  const where = back ? `Rollback from ${to}: ${back}` : `Rollout to ${to}, step ${step} of ${steps}.`;
  return `${where} ${said}`.trim();
}

function showAll() {
  const live = byId("live");
  live.dataset.state = feed.state;
  setText(live, { live: "live", lost: "connection lost, trying again", connecting: "connecting…" }[feed.state]);
  endpoints = endpointsOf(feed);
  list.update(endpoints);
  showEndpoint();
}

/** Start from the address of the first endpoint, so that the list marks it. */
function settle() {
  if (!endpoints.has(route.current().endpoint) && endpoints.size > 0) route.go({ endpoint: chosenName() });
}

byId("address").textContent = location.origin;
feed.subscribe(() => {
  showAll();
  settle();
});
route.watch(showAll);
showCaller();
feed.start();
