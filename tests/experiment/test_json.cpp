// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/experiment/io.h"
#include "tests/experiment/samples.h"

using namespace skippipe;

class TestJson : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void values_are_those_of_the_text() {
        const std::string text = R"({"a": [1, -2, 0.5, true, null, "x\u00e9"], "b": {"c": [[], {}]}})";
        Faults faults;
        QVERIFY(parse_json(text, faults) == nlohmann::ordered_json::parse(text));
        QVERIFY(faults.empty());
    }

    void every_duplicate_key_has_its_pointer() {
        Faults faults;
        const auto json =
            parse_json(R"({"a": 1, "b": [{}, {"c": 1, "c": {"d": 2, "d": 3}, "e/f": 1, "e/f": 2}], "a": 2})", faults);
        QCOMPARE(faults.size(), std::size_t{4});
        QCOMPARE(faults[0].pointer, std::string("/b/1/c"));
        QCOMPARE(faults[1].pointer, std::string("/b/1/c/d"));
        QCOMPARE(faults[2].pointer, std::string("/b/1/e~1f"));
        QCOMPARE(faults[3].pointer, std::string("/a"));
        QVERIFY(json["a"] == 1);
    }

    void broken_text_has_a_place_data() {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<QString>("place");
        // In words of their own, not the parser's.
        QTest::newRow("no comma") << QByteArray("{\"a\": 1 \"b\": 2}")
                                  << "line 1, column 11: a comma is missing between two entries";
        QTest::newRow("no comma in a list") << QByteArray("[1 2]") << "a comma is missing between two values";
        QTest::newRow("no colon") << QByteArray("{\"a\" 1}") << ": a colon is missing";
        QTest::newRow("comma at the end") << QByteArray("{\"a\": 1,}") << ": a comma stands before the closing brace";
        QTest::newRow("comma at a list's end") << QByteArray("[1,]") << ": a comma stands before the closing bracket";
        QTest::newRow("name without quotes") << QByteArray("{a: 1}") << ": the name of an entry in double quotes";
        QTest::newRow("no value") << QByteArray("{\"a\": }") << ": a value is missing";
        QTest::newRow("a word") << QByteArray("{\"a\": yes}") << ": this is no value";
        QTest::newRow("no quote") << QByteArray("{\"a\": \"b}") << ": a text has no closing quote";
        QTest::newRow("over the line") << QByteArray("{\"a\": \"b\nc\"}") << ": a text goes on beyond its line";
        QTest::newRow("backslash") << QByteArray("{\"a\": \"\\x\"}") << ": a text has a backslash";
        QTest::newRow("half a number") << QByteArray("[1.]") << ": a number is not complete";
        QTest::newRow("more") << QByteArray("{} {}") << ": there is more text after the end";
        QTest::newRow("nothing") << QByteArray("") << ": the file ends before it is complete";
        QTest::newRow("comma") << QByteArray("{\n  \"a\": 1,,\n}") << "line 2, column 10";
        QTest::newRow("end") << QByteArray("{\"a\": [1, 2") << "line 1, column 11";
        QTest::newRow("utf-8") << QByteArray("{\"a\": \"\xff\"}") << "line 1, column 8";
        QTest::newRow("after NaN") << QByteArray("[NaN, Infinity, ?]") << "line 1, column 17";
        QTest::newRow("word") << QByteArray("{\"a\":\n\n nil}") << "line 3, column 3";
    }
    void broken_text_has_a_place() {
        QFETCH(QByteArray, text);
        QFETCH(QString, place);
        Faults faults;
        QVERIFY(parse_json(text.toStdString(), faults).is_null());
        QVERIFY(has_errors(faults));
        const std::string& what = faults.back().what;
        QVERIFY2(what.find(place.toStdString()) != std::string::npos, what.c_str());
        for (const char* word : {"unexpected", "literal", "parsing", "syntax", "last read", "json"})
            QVERIFY2(what.find(word) == std::string::npos, what.c_str());
    }

    void numbers_beyond_json_hide_nothing() {
        Faults faults;
        const auto json =
            parse_json(R"({"a": NaN, "b": null, "c": [1e999, "NaN", 1e-999, -1e400], "d": 1, "d": 2})", faults);
        QCOMPARE(faults.size(), std::size_t{4});
        QCOMPARE(faults[0].pointer, std::string("/a"));
        QCOMPARE(faults[1].pointer, std::string("/c/0"));
        QCOMPARE(faults[2].pointer, std::string("/c/3"));
        QCOMPARE(faults[3].pointer, std::string("/d"));
        QVERIFY(json["c"][1] == "NaN");
    }

    void depth_count_and_size_are_limited() {
        const std::string bomb(1'000'000, '[');
        Faults faults;
        QVERIFY(parse_json(bomb, faults).is_null());
        QCOMPARE(faults.size(), std::size_t{1});
        QVERIFY(faults[0].what.find("32 levels") != std::string::npos);

        faults.clear();
        QVERIFY(!parse_json(std::string(32, '[') + std::string(32, ']'), faults).is_null());
        QVERIFY(faults.empty());

        std::string many = "[0";
        for (int i = 0; i < 1000; ++i) many += ",0";
        QVERIFY(parse_json(many + "]", faults, {.values = 1000}).is_null());
        QCOMPARE(faults.size(), std::size_t{1});

        faults.clear();
        QVERIFY(parse_json("[1, 2, 3]", faults, {.bytes = 8}).is_null());
        QCOMPARE(faults.size(), std::size_t{1});
    }

    void faults_are_bounded() {
        std::string text = "{";
        for (int i = 0; i < 5000; ++i) text += "\"a\": 1,";
        Faults faults;
        parse_json(text + "\"b\": 2}", faults);
        QCOMPARE(faults.size(), std::size_t{1001});
    }

    void one_object_of_many_keys_is_read_at_once() {
        std::string text = "{";
        for (int i = 0; i < 200'000; ++i) text += "\"k" + std::to_string(i) + "\":0,";
        Faults faults;
        QCOMPARE(parse_json(text + "\"last\":1}", faults).size(), std::size_t{200'001});  // quadratic: minutes
    }
};

QTEST_APPLESS_MAIN(TestJson)
#include "test_json.moc"
