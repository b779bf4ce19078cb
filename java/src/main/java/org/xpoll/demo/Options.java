package org.xpoll.demo;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;

/** A command line: options with or without a number, and what stands beside them. */
final class Options {
    private final Deque<String> rest;

    Options(String[] arguments) {
        rest = new ArrayDeque<>(List.of(arguments));
    }

    /** The number after an option, or the fallback where there is no such option. */
    int number(String option, int fallback) {
        String word = after(option, true);
        return word == null ? fallback : parse(option, word);
    }

    /** The same, at least 1. */
    int count(String option, int fallback) {
        String word = after(option, true);
        return word == null ? fallback : positive(option, word);
    }

    /** The same for an option whose number may be left out; 0 where there is no such option. */
    int countIfAny(String option, int usual) {
        String word = after(option, false);
        return word == null ? 0 : word.isEmpty() ? usual : positive(option, word);
    }

    /** What follows an option; null: there is no such option, "": nothing follows that fits. */
    private String after(String option, boolean required) {
        Iterator<String> words = rest.iterator();
        while (words.hasNext()) {
            if (!words.next().equals(option)) {
                continue;
            }
            words.remove();
            String word = words.hasNext() ? words.next() : "";
            if (required && word.isEmpty()) {
                throw new IllegalArgumentException(option + " takes a value");
            }
            if (!required && !word.matches("[0-9]+")) {
                return "";
            }
            words.remove();
            return word;
        }
        return null;
    }

    /** What stands after an option; null where there is no such option. */
    String text(String option) {
        return after(option, true);
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

    /** Such a word, a number of at least 1. */
    int countWord(String what, int fallback) {
        String word = word();
        return word == null ? fallback : positive(what, word);
    }

    void end() {
        if (!rest.isEmpty()) {
            throw new IllegalArgumentException("unexpected: " + rest.getFirst());
        }
    }

    private static int positive(String what, String word) {
        int number = parse(what, word);
        if (number < 1) {
            throw new IllegalArgumentException(what + ": at least 1");
        }
        return number;
    }

    private static int parse(String what, String word) {
        try {
            return Integer.parseUnsignedInt(word);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(what + ": not a number: " + word);
        }
    }
}
