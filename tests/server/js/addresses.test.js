import assert from "node:assert/strict";
import { test } from "node:test";

import { currentCollection, file, picture, setCollection, thumbnail, view } from "#page/addresses.js";

test("every address of a picture names the collection", () => {
  const addresses = () => [thumbnail(5), view(5), file(5), picture("a_b")];
  setCollection("first");
  const before = addresses();
  assert.equal(before[0], "/api/items/5/thumbnail?collection=first");
  setCollection("second");
  assert.equal(currentCollection(), "second");
  for (const [place, address] of addresses().entries()) {
    assert.notEqual(address, before[place]);
    assert.ok(address.endsWith("?collection=second"));
  }
});

test("an id cannot become a part of the address", () => {
  setCollection("a&b=c#d");
  assert.equal(thumbnail(1), "/api/items/1/thumbnail?collection=a%26b%3Dc%23d");
});
