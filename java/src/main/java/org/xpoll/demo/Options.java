package org.xpoll.demo;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;

/** A command line: options with or without a number, and what stands beside them. */
final class Options {
    private final Deque<String> rest;

    Options(String[] arguments) {
        rest = new ArrayDeque<>(List.of(arguments));
    }

    /** The number after an option, or the fallback where there is no such option. */
    int number(String option, int fallback) {
        if (!rest.contains(option)) {
            return fallback;
        }
        Deque<String> others = new ArrayDeque<>();
        Integer value = null;
        while (!rest.isEmpty()) {
            String word = rest.removeFirst();
            if (!word.equals(option)) {
                others.add(word);
            } else if (rest.isEmpty()) {
                throw new IllegalArgumentException(option + " takes a number");
            } else {
                value = parse(option, rest.removeFirst());
            }
        }
        rest.addAll(others);
        return value;
    }

    boolean flag(String option) {
        return rest.remove(option);
    }

    /** The next word that is no option; null at the end. */
    String word() {
        String word = rest.pollFirst();
        if (word != null && word.startsWith("-")) {
            throw new IllegalArgumentException("unknown option " + word);
        }
        return word;
    }

    int numberWord(String what, int fallback) {
        String word = word();
        return word == null ? fallback : parse(what, word);
    }

    void end() {
        if (!rest.isEmpty()) {
            throw new IllegalArgumentException("unexpected: " + rest.getFirst());
        }
    }

    private static int parse(String what, String word) {
        try {
            return Integer.parseUnsignedInt(word);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(what + ": not a number: " + word);
        }
    }
}
